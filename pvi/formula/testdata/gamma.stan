// cost ~ age + mo(grade), family = Gamma(log)
data {
  int<lower=0> N;
  vector[N] cost;
  vector[N] age;
  array[N] int<lower=1, upper=4> grade;
}
parameters {
  simplex[3] simo_grade;
  real Intercept;
  real b_age;
  real b_mo_grade;
  real<lower=0> shape;
}
transformed parameters {
  vector[4] mo_grade = 3 * append_row(0, cumulative_sum(simo_grade));
}
model {
  simo_grade ~ dirichlet(rep_vector(1, 3));
  Intercept ~ normal(4.61, 2.66);
  b_age ~ normal(0, 0.106);
  b_mo_grade ~ normal(0, 0.833);
  shape ~ gamma(2, 0.1);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59)
      + b_mo_grade * mo_grade[grade[n]];
    cost[n] ~ gamma(shape, shape * exp(-mu));
  }
}
// cost is cost 
// age is age 
// grade is grade 
// simo_grade ~ dirichlet(rep_vector(1, 3)): each step is equally likely to be the largest
// Intercept ~ normal(4.61, 2.66): the middle of log cost within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// b_mo_grade ~ normal(0, 0.833): 2.5 on the log scale, over 3, 3 steps of mo_grade
// shape ~ gamma(2, 0.1): weakly informative, mean 20
