// paid ~ age, family = hurdle_gamma(log)
data {
  int<lower=0> N;
  vector[N] paid;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0> shape;
  real<lower=0, upper=1> hu;
}
model {
  Intercept ~ normal(5.06, 2.5);
  b_age ~ normal(0, 0.106);
  shape ~ gamma(2, 0.1);
  hu ~ beta(1, 1);
  for (n in 1:N) {
    real above = paid[n] > 0 ? paid[n] : 1.0;
    real mu = Intercept
      + b_age * (age[n] - 59);
    target += paid[n] == 0 ? log(hu) : log1m(hu) + gamma_lpdf(above | shape, shape * exp(-mu));
  }
}
// paid is paid 
// age is age 
// Intercept ~ normal(5.06, 2.5): the middle of log paid within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// shape ~ gamma(2, 0.1): weakly informative, mean 20
// hu ~ beta(1, 1): uniform
