data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
  vector[N] age;
}
parameters {
  real a;
  real<lower=0> s;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  x ~ normal(a + (age / max(age)), s);
}
