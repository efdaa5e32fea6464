package app

// WriteCertificate makes a certificate for localhost, for tests outside.
var WriteCertificate = writeCertificate
