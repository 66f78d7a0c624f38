/**
 * Refuses functions of definitions that nothing would call, most of which TypeScript refuses. A production bundle does not contain this
 * module: there, they are not called.
 */
import type { Prompt } from './prompt.ts'
import type { Resource } from './resource.ts'

export function checkCompletedArguments({ item, complete }: Prompt): void {
  for (const argument of Object.keys(complete)) {
    if (!item.arguments?.some((declared) => declared.name === argument)) {
      throw new Error(`The prompt "${item.name}" completes "${argument}", which is not one of its arguments`)
    }
  }
}

export function checkCompletedVariables(uri: string, { template, list, complete }: Resource): void {
  if (!template && list) throw new Error(`The resource "${uri}" has no variables: remove list, or write a URI template`)
  for (const variable of Object.keys(complete)) {
    if (!template?.names.includes(variable)) {
      throw new Error(`The resource "${uri}" completes "${variable}", which is not one of its variables`)
    }
  }
}
