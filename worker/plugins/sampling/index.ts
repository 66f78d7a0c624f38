/** edgemcp/sampling: Let the client's model call tools of your handler. */
export { type ConverseRequest, type ConverseResult, converse, type ModelTool } from './converse.ts'
