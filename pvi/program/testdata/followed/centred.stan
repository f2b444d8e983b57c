data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
  vector[N] age;
}
transformed data {
  vector[N] d = (age - mean(age)) / sd(age);
}
parameters {
  real a;
  real<lower=0> s;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  x ~ normal(a * d, s);
}
