data {
  int N;
  int T;
  array[N, T] real w;
}
parameters {
  real a;
  real<lower=0> s;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  for (n in 1:N)
    w[n, T] ~ normal(a * cumulative_sum(w[n])[2], s);
}
