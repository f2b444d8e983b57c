// grade ~ age + smoking, family = cumulative(logit)
data {
  int<lower=0> N;
  array[N] int<lower=1, upper=4> grade;
  vector[N] age;
  vector[N] smoking_yes;
}
parameters {
  ordered[3] Intercept;
  real b_age;
  real b_smoking_yes;
}
model {
  Intercept ~ normal(0, 3);
  b_age ~ normal(0, 0.106);
  b_smoking_yes ~ normal(0, 2.5);
  for (n in 1:N) {
    real mu = b_age * (age[n] - 59)
      + b_smoking_yes * smoking_yes[n];
    grade[n] ~ ordered_logistic(mu, Intercept);
  }
}
// grade is grade 
// age is age 
// smoking_yes is smoking yes
// Intercept ~ normal(0, 3): default of ordered cut points
// b_age ~ normal(0, 0.106): 2.5 on the logit scale, over 23.7, the spread of age (half the width of the bounds over √3)
// b_smoking_yes ~ normal(0, 2.5): 2.5 on the logit scale
