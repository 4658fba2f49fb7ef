/*
 * A function for Node that marks a descriptor of this process as not to be passed on to programs that it starts: FD_CLOEXEC.
 * Node has none, and LMDB leaves its data file without that mark. Node-API is declared by hand, as much of it as is used:
 * its binary interface is stable, and its headers need not be installed where this is built.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef int napi_status;

extern napi_status napi_create_function(napi_env, const char *, size_t, napi_value (*)(napi_env, napi_callback_info), void *, napi_value *);
extern napi_status napi_get_cb_info(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
extern napi_status napi_get_value_int32(napi_env, napi_value, int32_t *);
extern napi_status napi_get_boolean(napi_env, _Bool, napi_value *);

/* (descriptor: number): boolean, whether it is marked now. */
static napi_value close_on_exec(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument = NULL, answer = NULL;
  int32_t descriptor = -1;
  int flags = -1;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) == 0 && count == 1 && napi_get_value_int32(env, argument, &descriptor) == 0) {
    flags = fcntl(descriptor, F_GETFD);
  }
  napi_get_boolean(env, flags >= 0 && fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) == 0, &answer);
  return answer;
}

int32_t node_api_module_get_api_version_v1(void) { return 8; }

/* The module is the function itself. */
napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  napi_value function = NULL;
  return napi_create_function(env, "closeOnExec", 11, close_on_exec, NULL, &function) == 0 ? function : exports;
}
