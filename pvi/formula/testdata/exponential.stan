// time | cens(smoking == "yes") + weights(w) ~ age, family = exponential(log)
data {
  int<lower=0> N;
  vector[N] time;
  vector[N] smoking_yes;
  vector[N] w;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
}
model {
  Intercept ~ normal(2.65, 2.5);
  b_age ~ normal(0, 0.106);
  for (n in 1:N) {
    real censored = smoking_yes[n];
    real mu = Intercept
      + b_age * (age[n] - 59);
    if (censored == 1)
      target += w[n] * (exponential_lccdf(time[n] | exp(-mu)));
    else
      target += w[n] * (exponential_lpdf(time[n] | exp(-mu)));
  }
}
// time is time 
// smoking_yes is smoking yes
// w is w 
// age is age 
// Intercept ~ normal(2.65, 2.5): the middle of log time within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
