// grade ~ age, family = categorical(logit)
data {
  int<lower=0> N;
  array[N] int<lower=1, upper=4> grade;
  vector[N] age;
}
parameters {
  real Intercept_II;
  real b_II_age;
  real Intercept_III;
  real b_III_age;
  real Intercept_IV;
  real b_IV_age;
}
model {
  Intercept_II ~ normal(0, 2.5);
  b_II_age ~ normal(0, 0.106);
  Intercept_III ~ normal(0, 2.5);
  b_III_age ~ normal(0, 0.106);
  Intercept_IV ~ normal(0, 2.5);
  b_IV_age ~ normal(0, 0.106);
  for (n in 1:N) {
    real mu_II = Intercept_II
      + b_II_age * (age[n] - 59);
    real mu_III = Intercept_III
      + b_III_age * (age[n] - 59);
    real mu_IV = Intercept_IV
      + b_IV_age * (age[n] - 59);
    grade[n] ~ categorical_logit([0, mu_II, mu_III, mu_IV]');
  }
}
// grade is grade 
// age is age 
// Intercept_II ~ normal(0, 2.5): 2.5 on the logit scale
// b_II_age ~ normal(0, 0.106): 2.5 on the logit scale, over 23.7, the spread of age (half the width of the bounds over √3)
// Intercept_III ~ normal(0, 2.5): 2.5 on the logit scale
// b_III_age ~ normal(0, 0.106): 2.5 on the logit scale, over 23.7, the spread of age (half the width of the bounds over √3)
// Intercept_IV ~ normal(0, 2.5): 2.5 on the logit scale
// b_IV_age ~ normal(0, 0.106): 2.5 on the logit scale, over 23.7, the spread of age (half the width of the bounds over √3)
