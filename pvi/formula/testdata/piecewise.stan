// time | cens(1 - dead) ~ age + smoking, family = piecewise_exponential(30, 90, 365)
functions {
  real hazard_lpdf(real t, real log_h, real H) { return log_h - H; }
  real hazard_lccdf(real t, real log_h, real H) { return -H; }
}
data {
  int<lower=0> N;
  vector[N] time;
  vector[N] dead;
  vector[N] age;
  vector[N] smoking_yes;
}
parameters {
  vector[4] log_hazard;
  real b_age;
  real b_smoking_yes;
}
model {
  log_hazard ~ normal(-2.65, 2.5);
  b_age ~ normal(0, 0.106);
  b_smoking_yes ~ normal(0, 2.5);
  for (n in 1:N) {
    real censored = 1 - dead[n];
    real log_h = 0;
    real H = 0;
    real mu = b_age * (age[n] - 59)
      + b_smoking_yes * smoking_yes[n];
    log_h += (time[n] <= 30) * log_hazard[1];
    H += fmin(time[n], 30) * exp(log_hazard[1]);
    log_h += (time[n] > 30 && time[n] <= 90) * log_hazard[2];
    H += fmax(fmin(time[n], 90) - 30, 0) * exp(log_hazard[2]);
    log_h += (time[n] > 90 && time[n] <= 365) * log_hazard[3];
    H += fmax(fmin(time[n], 365) - 90, 0) * exp(log_hazard[3]);
    log_h += (time[n] > 365) * log_hazard[4];
    H += fmax(time[n] - 365, 0) * exp(log_hazard[4]);
    if (censored == 1)
      target += hazard_lccdf(time[n] | log_h + mu, exp(mu) * H);
    else
      time[n] ~ hazard(log_h + mu, exp(mu) * H);
  }
}
// time is time 
// dead is dead 
// age is age 
// smoking_yes is smoking yes
// log_hazard ~ normal(-2.65, 2.5): minus the middle of log time within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// b_smoking_yes ~ normal(0, 2.5): 2.5 on the log scale
