// The same promises with the helper in Node, which takes the place of the one in C where that could not be compiled.
process.env['SKILLET_TEST_HELPER'] = 'node'
await import('./executor-native.test.ts')
