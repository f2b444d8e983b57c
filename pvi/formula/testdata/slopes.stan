// score ~ age + (age || practice), family = gaussian(identity)
data {
  int<lower=0> N;
  vector[N] score;
  vector[N] age;
  array[N] int<lower=1, upper=4> practice;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0> sd_practice_Intercept;
  real<lower=0> sd_practice_age;
  vector[4] r_practice_Intercept;
  vector[4] r_practice_age;
  real<lower=0> sigma;
}
model {
  Intercept ~ normal(0, 72.2);
  b_age ~ normal(0, 3.05);
  sd_practice_Intercept ~ student_t(3, 0, 28.9);
  sd_practice_age ~ student_t(3, 0, 1.22);
  r_practice_Intercept ~ normal(0, sd_practice_Intercept);
  r_practice_age ~ normal(0, sd_practice_age);
  sigma ~ student_t(3, 0, 28.9);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59)
      + r_practice_Intercept[practice[n]]
      + r_practice_age[practice[n]] * age[n];
    score[n] ~ normal(mu, sigma);
  }
}
// score is score 
// age is age 
// practice is practice 
// Intercept ~ normal(0, 72.2): middle and 2.5 spreads of score
// b_age ~ normal(0, 3.05): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 23.7, the spread of age (half the width of the bounds over √3)
// sd_practice_Intercept ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)
// sd_practice_age ~ student_t(3, 0, 1.22): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3), over 23.7, the spread of age (half the width of the bounds over √3)
// r_practice_Intercept ~ normal(0, sd_practice_Intercept): effects of 4 levels
// r_practice_age ~ normal(0, sd_practice_age): effects of 4 levels
// sigma ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)
