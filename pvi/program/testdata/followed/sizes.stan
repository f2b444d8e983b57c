data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
  int T;
  matrix[N, 3] w;
}
parameters {
  real a;
  real<lower=0> s;
  vector[T] v;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  x ~ normal(a + w * v, s);
  v ~ normal(0, 1);
}
