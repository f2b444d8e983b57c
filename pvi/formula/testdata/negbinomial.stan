// visits ~ age + (1 | region/practice), shape ~ region, family = negbinomial(log)
data {
  int<lower=0> N;
  array[N] int<lower=0> visits;
  vector[N] age;
  array[N] int<lower=1, upper=2> region;
  array[N] int<lower=1, upper=4> practice;
  vector[N] region_south;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0> sd_region_Intercept;
  vector[2] r_region_Intercept;
  real<lower=0> sd_region_practice_Intercept;
  vector[8] r_region_practice_Intercept;
  real Intercept_shape;
  real b_shape_region_south;
}
model {
  Intercept ~ normal(1.35, 2.5);
  b_age ~ normal(0, 0.106);
  sd_region_Intercept ~ student_t(3, 0, 1);
  r_region_Intercept ~ normal(0, sd_region_Intercept);
  sd_region_practice_Intercept ~ student_t(3, 0, 1);
  r_region_practice_Intercept ~ normal(0, sd_region_practice_Intercept);
  Intercept_shape ~ normal(0, 2.5);
  b_shape_region_south ~ normal(0, 2.5);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59)
      + r_region_Intercept[region[n]]
      + r_region_practice_Intercept[(region[n] - 1) * 4 + practice[n]];
    real shape_eta = Intercept_shape
      + b_shape_region_south * region_south[n];
    real shape = exp(shape_eta);
    visits[n] ~ neg_binomial_2_log(mu, shape);
  }
}
// visits is visits 
// age is age 
// region is region 
// practice is practice 
// region_south is region south
// Intercept ~ normal(1.35, 2.5): the middle of log visits within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// sd_region_Intercept ~ student_t(3, 0, 1): half of a Student t with scale 1 on the log scale
// r_region_Intercept ~ normal(0, sd_region_Intercept): effects of 2 levels
// sd_region_practice_Intercept ~ student_t(3, 0, 1): half of a Student t with scale 1 on the log scale
// r_region_practice_Intercept ~ normal(0, sd_region_practice_Intercept): effects of 8 levels
// Intercept_shape ~ normal(0, 2.5): 2.5 on the log scale
// b_shape_region_south ~ normal(0, 2.5): 2.5 on the log scale
