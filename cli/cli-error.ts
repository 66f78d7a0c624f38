/** Ends a command with an error. Its message states what to do instead. */
export class CliError extends Error {}
