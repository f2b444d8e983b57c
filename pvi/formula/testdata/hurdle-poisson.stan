// visits ~ age, family = hurdle_poisson(log)
data {
  int<lower=0> N;
  array[N] int<lower=0> visits;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0, upper=1> hu;
}
model {
  Intercept ~ normal(1.35, 2.5);
  b_age ~ normal(0, 0.106);
  hu ~ beta(1, 1);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    target += visits[n] == 0 ? log(hu) : log1m(hu) + poisson_log_lpmf(visits[n] | mu) - log1m_exp(-exp(mu));
  }
}
// visits is visits 
// age is age 
// Intercept ~ normal(1.35, 2.5): the middle of log visits within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// hu ~ beta(1, 1): uniform
