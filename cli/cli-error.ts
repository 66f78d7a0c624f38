/** A command that cannot do what it was asked: its message says what to do instead. */
export class CliError extends Error {}
