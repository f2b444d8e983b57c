// Functions of the program: of numbers, of columns, with conditions on data, and a density.
functions {
  real inverse_link(real eta, real floor_) {
    return floor_ + (1 - floor_) * inv_logit(eta);
  }
  real hinge(real x, real slope);
  real hinge(real x, real slope) {
    if (x > 0.5)
      return slope * (x - 0.5);
    else if (x < -0.5)
      return 2 * slope * (x + 0.5);
    return 0.1 * slope;
  }
  vector predictor(vector x, real a, vector b) {
    int n = num_elements(x);
    vector[n] eta;
    for (i in 1:n) {
      real e = a;
      for (k in 1:size(b))
        e += b[k] * pow(x[i], k);
      eta[i] = e;
    }
    return eta;
  }
  real hurdle_lpmf(int y, real zero, real eta) {
    return y == 0 ? log(zero) : log1m(zero) + poisson_log_lpmf(y | eta) - log1m_exp(-exp(eta));
  }
}
data {
  int N;
  vector[N] x;
  array[N] int<lower=0, upper=1> y;
  array[N] int<lower=0> k;
}
parameters {
  real a;
  vector[2] b;
  real<lower=0, upper=1> zero;
}
model {
  vector[N] eta = predictor(x, a, b);
  a ~ normal(0, 1);
  b ~ normal(0, 1);
  for (n in 1:N) {
    y[n] ~ bernoulli(inverse_link(eta[n], 0.05));
    k[n] ~ hurdle(zero, 0.3 * eta[n]);
    target += hinge(x[n], b[1]);
  }
}
