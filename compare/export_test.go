package compare

// Cost is cost.
type Cost = cost

// Fit is Profile.fit.
var Fit = Profile.fit
