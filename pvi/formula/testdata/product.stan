// score ~ age*smoking + bmi, family = gaussian(identity)
data {
  int<lower=0> N;
  vector[N] score;
  vector[N] age;
  vector[N] bmi;
  vector[N] smoking_yes;
}
parameters {
  real Intercept;
  real b_age;
  real b_smoking_yes;
  real b_bmi;
  real b_age_x_smoking_yes;
  real<lower=0> sigma;
}
model {
  Intercept ~ normal(0, 72.2);
  b_age ~ normal(0, 3.05);
  b_smoking_yes ~ normal(0, 72.2);
  b_bmi ~ normal(0, 7.14);
  b_age_x_smoking_yes ~ normal(0, 3.05);
  sigma ~ student_t(3, 0, 28.9);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59)
      + b_smoking_yes * smoking_yes[n]
      + b_bmi * (bmi[n] - 32.5)
      + b_age_x_smoking_yes * (age[n] * smoking_yes[n]);
    score[n] ~ normal(mu, sigma);
  }
}
// score is score 
// age is age 
// bmi is bmi 
// smoking_yes is smoking yes
// Intercept ~ normal(0, 72.2): middle and 2.5 spreads of score
// b_age ~ normal(0, 3.05): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 23.7, the spread of age (half the width of the bounds over √3)
// b_smoking_yes ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// b_bmi ~ normal(0, 7.14): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 10.1, the spread of bmi (half the width of the bounds over √3)
// b_age_x_smoking_yes ~ normal(0, 3.05): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 23.7, the spread of age
// sigma ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)
