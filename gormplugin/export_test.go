package gormplugin

// CheckTags is checkTags.
var CheckTags = checkTags
