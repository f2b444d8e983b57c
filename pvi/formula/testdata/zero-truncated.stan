// calls | trunc(lb = 1) ~ age, family = poisson(log)
data {
  int<lower=0> N;
  array[N] int<lower=1> calls;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
}
model {
  Intercept ~ normal(1.7, 2.5);
  b_age ~ normal(0, 0.106);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    target += poisson_log_lpmf(calls[n] | mu) - log1m_exp(-exp(mu));
  }
}
// calls is calls 
// age is age 
// Intercept ~ normal(1.7, 2.5): the middle of log calls within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
