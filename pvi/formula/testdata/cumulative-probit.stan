// grade ~ age + (1 | region), family = cumulative(probit)
data {
  int<lower=0> N;
  array[N] int<lower=1, upper=4> grade;
  vector[N] age;
  array[N] int<lower=1, upper=2> region;
}
parameters {
  ordered[3] Intercept;
  real b_age;
  real<lower=0> sd_region_Intercept;
  vector[2] r_region_Intercept;
}
model {
  Intercept ~ normal(0, 3);
  b_age ~ normal(0, 0.106);
  sd_region_Intercept ~ student_t(3, 0, 1);
  r_region_Intercept ~ normal(0, sd_region_Intercept);
  for (n in 1:N) {
    real mu = b_age * (age[n] - 59)
      + r_region_Intercept[region[n]];
    grade[n] ~ ordered_probit(mu, Intercept);
  }
}
// grade is grade 
// age is age 
// region is region 
// Intercept ~ normal(0, 3): default of ordered cut points
// b_age ~ normal(0, 0.106): 2.5 on the probit scale, over 23.7, the spread of age (half the width of the bounds over √3)
// sd_region_Intercept ~ student_t(3, 0, 1): half of a Student t with scale 1 on the probit scale
// r_region_Intercept ~ normal(0, sd_region_Intercept): effects of 2 levels
