// visits ~ age + smoking + offset(log(years)), family = poisson(log)
data {
  int<lower=0> N;
  array[N] int<lower=0> visits;
  vector[N] age;
  vector[N] years;
  vector[N] smoking_yes;
}
parameters {
  real Intercept;
  real b_age;
  real b_smoking_yes;
}
model {
  Intercept ~ normal(0.68, 2.5);
  b_age ~ normal(0, 0.106);
  b_smoking_yes ~ normal(0, 2.5);
  for (n in 1:N) {
    real mu = Intercept
      + log(years[n])
      + b_age * (age[n] - 59)
      + b_smoking_yes * smoking_yes[n];
    visits[n] ~ poisson_log(mu);
  }
}
// visits is visits 
// age is age 
// years is years 
// smoking_yes is smoking yes
// Intercept ~ normal(0.68, 2.5): the middle of log visits within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// b_smoking_yes ~ normal(0, 2.5): 2.5 on the log scale
