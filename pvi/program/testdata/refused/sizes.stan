// E403 at 18:18
data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
  int K;
  matrix[N, 3] w;
}
parameters {
  real a;
  real<lower=0> s;
  vector[K] v;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  x ~ normal(a + v * w, s);
  v ~ normal(0, 1);
}
