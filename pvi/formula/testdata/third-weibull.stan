// time | cens(1 - dead) ~ age, shape ~ smoking, family = weibull(log)
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
  real Intercept_shape;
  real b_shape_smoking_yes;
}
model {
  Intercept ~ normal(2.65, 2.5);
  b_age ~ normal(0, 0.106);
  Intercept_shape ~ normal(0, 1);
  b_shape_smoking_yes ~ normal(0, 1);
  for (n in 1:N) {
    real censored = 1 - dead[n];
    real mu = Intercept
      + b_age * (age[n] - 59);
    real shape_eta = Intercept_shape
      + b_shape_smoking_yes * smoking_yes[n];
    real shape = exp(shape_eta);
    if (censored == 1)
      target += weibull_lccdf(time[n] | shape, exp(mu - lgamma(1 + 1 / shape)));
    else
      time[n] ~ weibull(shape, exp(mu - lgamma(1 + 1 / shape)));
  }
}
// time is time 
// dead is dead 
// age is age 
// smoking_yes is smoking yes
// Intercept ~ normal(2.65, 2.5): the middle of log time within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// Intercept_shape ~ normal(0, 1): 1 on the log scale
// b_shape_smoking_yes ~ normal(0, 1): 1 on the log scale
