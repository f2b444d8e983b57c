// sick ~ age, family = bernoulli(probit)
data {
  int<lower=0> N;
  array[N] int<lower=0, upper=1> sick;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
}
model {
  Intercept ~ normal(0, 2.5);
  b_age ~ normal(0, 0.106);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    sick[n] ~ bernoulli(Phi(mu));
  }
}
// sick is sick yes
// age is age 
// Intercept ~ normal(0, 2.5): 2.5 on the probit scale
// b_age ~ normal(0, 0.106): 2.5 on the probit scale, over 23.7, the spread of age (half the width of the bounds over √3)
