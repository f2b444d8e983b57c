// time | cens(1 - dead) ~ age + smoking, family = lognormal(identity)
data {
  int<lower=0> N;
  vector[N] time;
  vector[N] dead;
  vector[N] age;
  vector[N] smoking_yes;
}
parameters {
  real Intercept;
  real b_age;
  real b_smoking_yes;
  real<lower=0> sigma;
}
model {
  Intercept ~ normal(2.65, 4.82);
  b_age ~ normal(0, 0.0815);
  b_smoking_yes ~ normal(0, 1.93);
  sigma ~ lognormal(-0.4, 1.39);
  for (n in 1:N) {
    real censored = 1 - dead[n];
    real mu = Intercept
      + b_age * (age[n] - 59)
      + b_smoking_yes * smoking_yes[n];
    if (censored == 1)
      target += lognormal_lccdf(time[n] | mu, sigma);
    else
      time[n] ~ lognormal(mu, sigma);
  }
}
// time is time 
// dead is dead 
// age is age 
// smoking_yes is smoking yes
// Intercept ~ normal(2.65, 4.82): middle and 2.5 spreads of log time
// b_age ~ normal(0, 0.0815): 1.93, the spread of log time, over 23.7, the spread of age (half the width of the bounds over √3)
// b_smoking_yes ~ normal(0, 1.93): 1.93, the spread of log time
// sigma ~ lognormal(-0.4, 1.39): median 0.668, 0.35 of 1.93, the spread of log time; one sd is a factor of 4
