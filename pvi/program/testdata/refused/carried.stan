// E207 at 17:5
data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real a;
  real<lower=0> s;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  real err = 0;
  for (n in 1:N) {
    err = x[n] - a * err;
    err ~ normal(0, s);
  }
}
