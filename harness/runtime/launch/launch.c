/* A callable that enqueues one compiled kernel: kernel(stream, argument, ...).

   Everything that does not change between launches (function, grid, block, shared memory,
   how each argument is passed) is fixed when the kernel is bound; a call reads addresses and
   numbers into an array on the stack and calls the driver. The driver's entry point is given
   as an address, so nothing is linked and no header of CUDA is needed. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

enum { MOST_ARGUMENTS = 1024, SCRATCH = 2 };

typedef int (*LaunchKernel)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z,
                            unsigned shared, void *stream, void **params, void **extra);
typedef int (*LaunchCooperative)(void *function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared, void *stream,
                                 void **params);

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject *weakrefs;
  PyObject *unbound; /* called with (stream, *arguments) while no function is bound */
  PyObject *misaligned; /* the same, when an address is not aligned as the function needs it */
  PyObject *failed;  /* called with the driver's code; raises, or returns to try once more */
  PyObject *kinds;   /* bytes, one letter per argument */
  void *function;
  void *launch;
  unsigned grid[3];
  unsigned threads;
  unsigned shared;
  int cooperative;
} Kernel;

static PyObject *data_ptr_name; /* an interned string, never changed */

/* The first types (tensors, parameters) whose data_ptr was looked up, and that function: torch
   has one in C that takes no arguments, and finding it again for every argument takes as long
   as calling it. Guarded by the interpreter's lock. */
enum { KNOWN = 2 };
static PyTypeObject *known_types[KNOWN];
static PyCFunction known_data_ptr[KNOWN];
static int known;

static void learn(PyTypeObject *type) {
  PyObject *found = known < KNOWN ? PyObject_GetAttr((PyObject *)type, data_ptr_name) : NULL;
  if (found == NULL) {
    PyErr_Clear();
    return;
  }
  if (Py_IS_TYPE(found, &PyMethodDescr_Type)) {
    PyMethodDef *method = ((PyMethodDescrObject *)found)->d_method;
    if (method->ml_flags == METH_NOARGS) {
      known_types[known] = (PyTypeObject *)Py_NewRef((PyObject *)type);
      known_data_ptr[known++] = method->ml_meth; /* the type, which is kept, keeps it */
    }
  }
  Py_DECREF(found);
}

static PyObject *ask_address(PyObject *argument) {
  PyTypeObject *type = Py_TYPE(argument);
  for (int at = 0; at < known; at++) {
    if (known_types[at] == type) {
      return known_data_ptr[at](argument, NULL);
    }
  }
  PyObject *found = PyObject_VectorcallMethod(data_ptr_name, &argument, 1, NULL);
  if (found != NULL) {
    learn(type);
  }
  return found;
}

static int read_address(PyObject *argument, uint64_t *value) {
  if (PyLong_Check(argument)) {
    *value = PyLong_AsUnsignedLongLong(argument);
  } else if (argument == Py_None) {
    *value = 0;
    return 0;
  } else {
    PyObject *found = ask_address(argument);
    if (found == NULL) {
      return -1;
    }
    *value = PyLong_AsUnsignedLongLong(found);
    Py_DECREF(found);
  }
  return *value == (uint64_t)-1 && PyErr_Occurred() ? -1 : 0;
}

static int read_signed(PyObject *argument, int bits, uint64_t *value) {
  int64_t number = PyLong_AsLongLong(argument);
  if (number == -1 && PyErr_Occurred()) {
    return -1;
  }
  if (bits < 64 && (number >= (INT64_C(1) << (bits - 1)) || number < -(INT64_C(1) << (bits - 1)))) {
    PyErr_Format(PyExc_OverflowError, "%lld does not fit %d bits", (long long)number, bits);
    return -1;
  }
  *value = (uint64_t)number; /* the driver reads the low bytes; x86-64 and ARM are little-endian */
  return 0;
}

static int read_unsigned(PyObject *argument, int bits, uint64_t *value) {
  uint64_t number = PyLong_AsUnsignedLongLong(argument);
  if (number == (uint64_t)-1 && PyErr_Occurred()) {
    return -1;
  }
  if (bits < 64 && number >> bits) {
    PyErr_Format(PyExc_OverflowError, "%llu does not fit %d bits", (unsigned long long)number,
                 bits);
    return -1;
  }
  *value = number;
  return 0;
}

static int read_float(PyObject *argument, int is_double, uint64_t *value) {
  double number = PyFloat_AsDouble(argument);
  if (number == -1.0 && PyErr_Occurred()) {
    return -1;
  }
  float narrow = (float)number;
  *value = 0;
  if (is_double) {
    memcpy(value, &number, sizeof number);
  } else {
    memcpy(value, &narrow, sizeof narrow);
  }
  return 0;
}

/* 0: read; 1: read, an address that has to be aligned and is not; -1: an exception is set. */
static int read_argument(PyObject *argument, char kind, uint64_t *value) {
  switch (kind) {
  case 'A':
    return read_address(argument, value) < 0 ? -1 : (*value & 15) != 0;
  case 'P':
    return read_address(argument, value);
  case 'b':
    return read_signed(argument, 8, value);
  case 'h':
    return read_signed(argument, 16, value);
  case 'i':
    return read_signed(argument, 32, value);
  case 'q':
    return read_signed(argument, 64, value);
  case '?':
    return read_unsigned(argument, 1, value);
  case 'B':
    return read_unsigned(argument, 8, value);
  case 'H':
    return read_unsigned(argument, 16, value);
  case 'I':
    return read_unsigned(argument, 32, value);
  case 'Q':
    return read_unsigned(argument, 64, value);
  case 'f':
    return read_float(argument, 0, value);
  case 'd':
    return read_float(argument, 1, value);
  default:
    PyErr_Format(PyExc_SystemError, "no such kind of argument: %c", kind);
    return -1;
  }
}

static int enqueue(Kernel *self, void *stream, void **params) {
  int code;
  Py_BEGIN_ALLOW_THREADS; /* the driver waits while its queue is full */
  if (self->cooperative) {
    code = ((LaunchCooperative)self->launch)(self->function, self->grid[0], self->grid[1],
                                             self->grid[2], self->threads, 1, 1, self->shared,
                                             stream, params);
  } else {
    code = ((LaunchKernel)self->launch)(self->function, self->grid[0], self->grid[1],
                                        self->grid[2], self->threads, 1, 1, self->shared, stream,
                                        params, NULL);
  }
  Py_END_ALLOW_THREADS;
  return code;
}

static PyObject *call(PyObject *object, PyObject *const *arguments, size_t flags,
                      PyObject *names) {
  Kernel *self = (Kernel *)object;
  Py_ssize_t given = PyVectorcall_NARGS(flags);
  if (names != NULL && PyTuple_GET_SIZE(names) > 0) {
    PyErr_SetString(PyExc_TypeError, "a kernel takes no arguments by name");
    return NULL;
  }
  if (self->function == NULL) {
    return PyObject_Vectorcall(self->unbound, arguments, (size_t)given, NULL);
  }
  Py_ssize_t count = PyBytes_GET_SIZE(self->kinds);
  if (given != count + 1) {
    PyErr_Format(PyExc_TypeError, "a kernel of %zd arguments was given %zd", count, given - 1);
    return NULL;
  }
  uint64_t stream;
  if (read_unsigned(arguments[0], 64, &stream) < 0) {
    return NULL;
  }
  const char *kinds = PyBytes_AS_STRING(self->kinds);
  uint64_t values[count + SCRATCH];
  void *params[count + SCRATCH];
  for (Py_ssize_t at = 0; at < count; at++) {
    int answer = read_argument(arguments[at + 1], kinds[at], &values[at]);
    if (answer < 0) {
      return NULL;
    }
    if (answer > 0) {
      return PyObject_Vectorcall(self->misaligned, arguments, (size_t)given, NULL);
    }
    params[at] = &values[at];
  }
  /* Triton's kernels end with two addresses of scratch memory, unused here. */
  for (Py_ssize_t at = count; at < count + SCRATCH; at++) {
    values[at] = 0;
    params[at] = &values[at];
  }
  int code = enqueue(self, (void *)(uintptr_t)stream, params);
  for (int tries = 0; code != 0; tries++) {
    PyObject *answer = PyObject_CallFunction(self->failed, "ii", code, tries);
    if (answer == NULL) {
      return NULL;
    }
    Py_DECREF(answer);
    code = enqueue(self, (void *)(uintptr_t)stream, params);
  }
  Py_RETURN_NONE;
}

static int check_kinds(PyObject *kinds) {
  if (PyBytes_GET_SIZE(kinds) > MOST_ARGUMENTS) {
    PyErr_Format(PyExc_ValueError, "a kernel has at most %d arguments", MOST_ARGUMENTS);
    return -1;
  }
  for (const char *kind = PyBytes_AS_STRING(kinds); *kind; kind++) {
    if (strchr("APbhiqBHIQ?fd", *kind) == NULL) {
      PyErr_Format(PyExc_ValueError, "no such kind of argument: %c", *kind);
      return -1;
    }
  }
  return 0;
}

static PyObject *bind(Kernel *self, PyObject *args, PyObject *named) {
  static char *names[] = {"function", "launch", "grid", "threads", "shared",
                          "kinds", "cooperative", NULL};
  unsigned long long function, launch;
  unsigned x, y, z, threads, shared;
  int cooperative;
  PyObject *kinds;
  if (!PyArg_ParseTupleAndKeywords(args, named, "KK(III)IIO!p", names, &function, &launch, &x,
                                   &y, &z, &threads, &shared, &PyBytes_Type, &kinds,
                                   &cooperative)) {
    return NULL;
  }
  if (function == 0 || launch == 0) {
    PyErr_SetString(PyExc_ValueError, "a kernel cannot be bound to address 0");
    return NULL;
  }
  if (check_kinds(kinds) < 0) {
    return NULL;
  }
  Py_INCREF(kinds);
  Py_XSETREF(self->kinds, kinds);
  self->launch = (void *)(uintptr_t)launch;
  self->grid[0] = x;
  self->grid[1] = y;
  self->grid[2] = z;
  self->threads = threads;
  self->shared = shared;
  self->cooperative = cooperative;
  self->function = (void *)(uintptr_t)function;
  Py_RETURN_NONE;
}

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *named) {
  static char *names[] = {"unbound", "misaligned", "failed", NULL};
  PyObject *unbound, *misaligned, *failed;
  if (!PyArg_ParseTupleAndKeywords(args, named, "OOO", names, &unbound, &misaligned, &failed)) {
    return NULL;
  }
  Kernel *self = (Kernel *)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->vectorcall = call;
  self->unbound = Py_NewRef(unbound);
  self->misaligned = Py_NewRef(misaligned);
  self->failed = Py_NewRef(failed);
  return (PyObject *)self;
}

static int traverse(Kernel *self, visitproc visit, void *arg) {
  Py_VISIT(self->unbound);
  Py_VISIT(self->misaligned);
  Py_VISIT(self->failed);
  return 0;
}

static int clear(Kernel *self) {
  Py_CLEAR(self->unbound);
  Py_CLEAR(self->misaligned);
  Py_CLEAR(self->failed);
  return 0;
}

static void destroy(Kernel *self) {
  PyObject_GC_UnTrack(self);
  if (self->weakrefs != NULL) {
    PyObject_ClearWeakRefs((PyObject *)self);
  }
  clear(self);
  Py_CLEAR(self->kinds);
  Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    {"bind", (PyCFunction)(void (*)(void))bind, METH_VARARGS | METH_KEYWORDS,
     "Fix what a launch needs besides stream and arguments."},
    {NULL, NULL, 0, NULL}};

static PyTypeObject KernelType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "harness_launch.Kernel",
    .tp_basicsize = sizeof(Kernel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "Kernel(unbound, misaligned, failed): call it with (stream, *arguments).",
    .tp_new = create,
    .tp_dealloc = (destructor)destroy,
    .tp_traverse = (traverseproc)traverse,
    .tp_clear = (inquiry)clear,
    .tp_weaklistoffset = offsetof(Kernel, weakrefs),
    .tp_methods = methods,
    .tp_vectorcall_offset = offsetof(Kernel, vectorcall),
    .tp_call = PyVectorcall_Call,
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "harness_launch", NULL, -1, NULL,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_harness_launch(void) {
  if (PyType_Ready(&KernelType) < 0) {
    return NULL;
  }
  data_ptr_name = PyUnicode_InternFromString("data_ptr");
  if (data_ptr_name == NULL) {
    return NULL;
  }
  PyObject *module = PyModule_Create(&definition);
  if (module == NULL) {
    return NULL;
  }
  if (PyModule_AddObjectRef(module, "Kernel", (PyObject *)&KernelType) < 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
