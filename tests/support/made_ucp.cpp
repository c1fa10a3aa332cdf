// A libucp.so.0 that has nothing but a version, which is 1.12.3.
extern "C" void ucp_get_version(unsigned* major, unsigned* minor, unsigned* release) {
  *major = 1;
  *minor = 12;
  *release = 3;
}
