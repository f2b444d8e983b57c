// score ~ age + bmi + (age + bmi | practice) + (1 | region:grade), family = gaussian(identity)
data {
  int<lower=0> N;
  vector[N] score;
  vector[N] age;
  vector[N] bmi;
  array[N] int<lower=1, upper=4> practice;
  array[N] int<lower=1, upper=2> region;
  array[N] int<lower=1, upper=4> grade;
}
parameters {
  real Intercept;
  real b_age;
  real b_bmi;
  real<lower=0> sd_practice_Intercept;
  real<lower=0> sd_practice_age;
  real<lower=0> sd_practice_bmi;
  cholesky_factor_corr[3] L_practice;
  vector[4] z_practice_Intercept;
  vector[4] z_practice_age;
  vector[4] z_practice_bmi;
  real<lower=0> sd_region_grade_Intercept;
  vector[8] r_region_grade_Intercept;
  real<lower=0> sigma;
}
transformed parameters {
  vector[4] r_practice_Intercept = sd_practice_Intercept * (L_practice[1, 1] * z_practice_Intercept);
  vector[4] r_practice_age = sd_practice_age * (L_practice[2, 1] * z_practice_Intercept + L_practice[2, 2] * z_practice_age);
  vector[4] r_practice_bmi = sd_practice_bmi * (L_practice[3, 1] * z_practice_Intercept + L_practice[3, 2] * z_practice_age + L_practice[3, 3] * z_practice_bmi);
}
model {
  Intercept ~ normal(0, 72.2);
  b_age ~ normal(0, 3.05);
  b_bmi ~ normal(0, 7.14);
  sd_practice_Intercept ~ student_t(3, 0, 28.9);
  sd_practice_age ~ student_t(3, 0, 1.22);
  sd_practice_bmi ~ student_t(3, 0, 2.86);
  L_practice ~ lkj_corr_cholesky(2);
  z_practice_Intercept ~ std_normal();
  z_practice_age ~ std_normal();
  z_practice_bmi ~ std_normal();
  sd_region_grade_Intercept ~ student_t(3, 0, 28.9);
  r_region_grade_Intercept ~ normal(0, sd_region_grade_Intercept);
  sigma ~ student_t(3, 0, 28.9);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59)
      + b_bmi * (bmi[n] - 32.5)
      + r_practice_Intercept[practice[n]]
      + r_practice_age[practice[n]] * age[n]
      + r_practice_bmi[practice[n]] * bmi[n]
      + r_region_grade_Intercept[(region[n] - 1) * 4 + grade[n]];
    score[n] ~ normal(mu, sigma);
  }
}
// score is score 
// age is age 
// bmi is bmi 
// practice is practice 
// region is region 
// grade is grade 
// Intercept ~ normal(0, 72.2): middle and 2.5 spreads of score
// b_age ~ normal(0, 3.05): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 23.7, the spread of age (half the width of the bounds over √3)
// b_bmi ~ normal(0, 7.14): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 10.1, the spread of bmi (half the width of the bounds over √3)
// sd_practice_Intercept ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)
// sd_practice_age ~ student_t(3, 0, 1.22): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3), over 23.7, the spread of age (half the width of the bounds over √3)
// sd_practice_bmi ~ student_t(3, 0, 2.86): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3), over 10.1, the spread of bmi (half the width of the bounds over √3)
// L_practice ~ lkj_corr_cholesky(2): correlations of effects are likely to be small
// z_practice_Intercept ~ std_normal(): effects of 4 levels in units of sd_practice_Intercept
// z_practice_age ~ std_normal(): effects of 4 levels in units of sd_practice_age
// z_practice_bmi ~ std_normal(): effects of 4 levels in units of sd_practice_bmi
// sd_region_grade_Intercept ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)
// r_region_grade_Intercept ~ normal(0, sd_region_grade_Intercept): effects of 8 levels
// sigma ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)
