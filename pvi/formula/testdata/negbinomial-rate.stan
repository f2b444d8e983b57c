// visits | rate(years) ~ age, family = negbinomial(log)
data {
  int<lower=0> N;
  array[N] int<lower=0> visits;
  vector[N] years;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0> shape;
}
model {
  Intercept ~ normal(0.68, 2.5);
  b_age ~ normal(0, 0.106);
  shape ~ gamma(2, 0.1);
  for (n in 1:N) {
    real mu = Intercept
      + log(years[n])
      + b_age * (age[n] - 59);
    visits[n] ~ neg_binomial_2_log(mu, shape * years[n]);
  }
}
// visits is visits 
// years is years 
// age is age 
// Intercept ~ normal(0.68, 2.5): the middle of log visits within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// shape ~ gamma(2, 0.1): weakly informative, mean 20
