/** edgemcp/openapi: the operations of an HTTP API as tools. */
export { operationsOf } from './convert.ts'
export { type Operation, type OperationsOptions, operations } from './operations.ts'
