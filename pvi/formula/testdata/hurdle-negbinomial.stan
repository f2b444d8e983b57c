// visits ~ age, hu ~ age, family = hurdle_negbinomial(log)
data {
  int<lower=0> N;
  array[N] int<lower=0> visits;
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
  Intercept ~ normal(1.35, 2.5);
  b_age ~ normal(0, 0.106);
  shape ~ gamma(2, 0.1);
  Intercept_hu ~ normal(0, 2.5);
  b_hu_age ~ normal(0, 0.106);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    real hu_eta = Intercept_hu
      + b_hu_age * (age[n] - 59);
    real hu = inv_logit(hu_eta);
    target += visits[n] == 0 ? log(hu) : log1m(hu) + neg_binomial_2_log_lpmf(visits[n] | mu, shape) - log1m_exp(-shape * log1p_exp(mu - log(shape)));
  }
}
// visits is visits 
// age is age 
// Intercept ~ normal(1.35, 2.5): the middle of log visits within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// shape ~ gamma(2, 0.1): weakly informative, mean 20
// Intercept_hu ~ normal(0, 2.5): 2.5 on the logit scale
// b_hu_age ~ normal(0, 0.106): 2.5 on the logit scale, over 23.7, the spread of age (half the width of the bounds over √3)
