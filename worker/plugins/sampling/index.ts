/** edgemcp/sampling: the client's model with tools of the handler's own. */
export { type ConverseRequest, type ConverseResult, converse, type ModelTool } from './converse.ts'
