// paid ~ age, hu ~ age, family = hurdle_gamma(log)
data {
  int<lower=0> N;
  vector[N] paid;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0> shape;
  real Intercept_hu;
  real b_hu_age;
}
model {
  Intercept ~ normal(5.06, 2.5);
  b_age ~ normal(0, 0.106);
  shape ~ lognormal(1.1, 1.61);
  Intercept_hu ~ normal(0, 2.5);
  b_hu_age ~ normal(0, 0.106);
  for (n in 1:N) {
    real above = paid[n] > 0 ? paid[n] : 1.0;
    real mu = Intercept
      + b_age * (age[n] - 59);
    real hu_eta = Intercept_hu
      + b_hu_age * (age[n] - 59);
    real hu = inv_logit(hu_eta);
    target += paid[n] == 0 ? log(hu) : log1m(hu) + gamma_lpdf(above | shape, shape * exp(-mu));
  }
}
// paid is paid 
// age is age 
// Intercept ~ normal(5.06, 2.5): the middle of log paid within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// shape ~ lognormal(1.1, 1.61): median 3; one sd is a factor of 5
// Intercept_hu ~ normal(0, 2.5): 2.5 on the logit scale
// b_hu_age ~ normal(0, 0.106): 2.5 on the logit scale, over 23.7, the spread of age (half the width of the bounds over √3)
