// score ~ 0 + grade + age, family = gaussian(identity)
data {
  int<lower=0> N;
  vector[N] score;
  vector[N] age;
  vector[N] grade_I;
  vector[N] grade_II;
  vector[N] grade_III;
  vector[N] grade_IV;
}
parameters {
  real b_grade_I;
  real b_grade_II;
  real b_grade_III;
  real b_grade_IV;
  real b_age;
  real<lower=0> sigma;
}
model {
  b_grade_I ~ normal(0, 72.2);
  b_grade_II ~ normal(0, 72.2);
  b_grade_III ~ normal(0, 72.2);
  b_grade_IV ~ normal(0, 72.2);
  b_age ~ normal(0, 3.05);
  sigma ~ student_t(3, 0, 28.9);
  for (n in 1:N) {
    real mu = b_grade_I * grade_I[n]
      + b_grade_II * grade_II[n]
      + b_grade_III * grade_III[n]
      + b_grade_IV * grade_IV[n]
      + b_age * age[n];
    score[n] ~ normal(mu, sigma);
  }
}
// score is score 
// age is age 
// grade_I is grade I
// grade_II is grade II
// grade_III is grade III
// grade_IV is grade IV
// b_grade_I ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// b_grade_II ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// b_grade_III ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// b_grade_IV ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// b_age ~ normal(0, 3.05): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 23.7, the spread of age (half the width of the bounds over √3)
// sigma ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)
