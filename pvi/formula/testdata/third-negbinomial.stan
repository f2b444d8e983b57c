// visits ~ age, shape ~ bmi, family = negbinomial(log)
data {
  int<lower=0> N;
  array[N] int<lower=0> visits;
  vector[N] age;
  vector[N] bmi;
}
parameters {
  real Intercept;
  real b_age;
  real Intercept_shape;
  real b_shape_bmi;
}
model {
  Intercept ~ normal(1.35, 2.5);
  b_age ~ normal(0, 0.106);
  Intercept_shape ~ normal(1.1, 1.61);
  b_shape_bmi ~ normal(0, 0.099);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    real shape_eta = Intercept_shape
      + b_shape_bmi * (bmi[n] - 32.5);
    real shape = exp(shape_eta);
    visits[n] ~ neg_binomial_2_log(mu, shape);
  }
}
// visits is visits 
// age is age 
// bmi is bmi 
// Intercept ~ normal(1.35, 2.5): the middle of log visits within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// Intercept_shape ~ normal(1.1, 1.61): 1.61 on the log scale
// b_shape_bmi ~ normal(0, 0.099): 1 on the log scale, over 10.1, the spread of bmi (half the width of the bounds over √3)
