// score ~ age + smoking + (1 | practice), family = gaussian(identity)
data {
  int<lower=0> N;
  vector[N] score;
  vector[N] age;
  vector[N] smoking_yes;
  array[N] int<lower=1, upper=4> practice;
}
parameters {
  real Intercept;
  real b_age;
  real b_smoking_yes;
  real<lower=0> sd_practice_Intercept;
  vector[4] r_practice_Intercept;
  real<lower=0> sigma;
}
model {
  Intercept ~ normal(0, 72.2);
  b_age ~ normal(0, 1.22);
  b_smoking_yes ~ normal(0, 28.9);
  sd_practice_Intercept ~ student_t(3, 0, 28.9);
  r_practice_Intercept ~ normal(0, sd_practice_Intercept);
  sigma ~ lognormal(2.3, 1.39);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59)
      + b_smoking_yes * smoking_yes[n]
      + r_practice_Intercept[practice[n]];
    score[n] ~ normal(mu, sigma);
  }
}
// score is score 
// age is age 
// smoking_yes is smoking yes
// practice is practice 
// Intercept ~ normal(0, 72.2): middle and 2.5 spreads of score
// b_age ~ normal(0, 1.22): 28.9, the spread of score (half the width of the bounds over √3), over 23.7, the spread of age (half the width of the bounds over √3)
// b_smoking_yes ~ normal(0, 28.9): 28.9, the spread of score (half the width of the bounds over √3)
// sd_practice_Intercept ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)
// r_practice_Intercept ~ normal(0, sd_practice_Intercept): effects of 4 levels
// sigma ~ lognormal(2.3, 1.39): median 10, 0.35 of 28.9, the spread of score (half the width of the bounds over √3); one sd is a factor of 4
