// A mixture whose classes are summed out, with ordered means and a simplex of weights.
data {
  int N;
  int K;
  vector[N] y;
}
parameters {
  ordered[K] mu;
  simplex[K] w;
  vector<lower=0>[K] sigma;
  real<lower=0, upper=1> p;
}
model {
  mu ~ normal(0, 3);
  w ~ dirichlet(rep_vector(2, K));
  sigma ~ inv_gamma(3, 2);
  p ~ beta(2, 3);
  for (n in 1:N) {
    vector[K] lp = log(w);
    for (k in 1:K)
      lp[k] += normal_lpdf(y[n] | mu[k], sigma[k]);
    target += log_sum_exp(lp);
    target += log_mix(p, normal_lpdf(y[n] | mu[1], 2), cauchy_lpdf(y[n] | mu[K], 1));
  }
}
