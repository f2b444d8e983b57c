// E412 at 11:3
data {
  int N;
  vector[N] x;
  array[N] int<lower=0> k;
  array[N] int<lower=1> g;
}
parameters {
  real a;
  real<lower=0> s;
  array[N] vector[2] e;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  for (n in 1:N) {
    e[n] ~ normal(0, s);
    for (t in 1:40)
      target += normal_lpdf(x[n] | a + e[n, 1] * t + e[n, 2], 1);
  }
}
