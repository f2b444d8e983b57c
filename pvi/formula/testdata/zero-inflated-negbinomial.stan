// visits ~ age, family = zero_inflated_negbinomial(log)
data {
  int<lower=0> N;
  array[N] int<lower=0> visits;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0> shape;
  real<lower=0, upper=1> zi;
}
model {
  Intercept ~ normal(1.35, 2.5);
  b_age ~ normal(0, 0.106);
  shape ~ gamma(2, 0.1);
  zi ~ beta(1, 1);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    target += visits[n] == 0 ? log_sum_exp(log(zi), log1m(zi) + (-shape * log1p_exp(mu - log(shape)))) : log1m(zi) + neg_binomial_2_log_lpmf(visits[n] | mu, shape);
  }
}
// visits is visits 
// age is age 
// Intercept ~ normal(1.35, 2.5): the middle of log visits within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// shape ~ gamma(2, 0.1): weakly informative, mean 20
// zi ~ beta(1, 1): uniform
