/** edgemcp/openapi: the operations of an HTTP API as tools. */
export { type OperationsOfOptions, operationsOf } from './convert.ts'
export type { Operation } from './operation.ts'
export { type OperationsOptions, operations } from './operations.ts'
