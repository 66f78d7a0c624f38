/**
 * Reads source text without parsing it: blanks comments and the content of quotes, so that a search finds code only, at its
 * original position.
 */

const token =
  /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(?<regex>\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*)|(?<word>[\w$]+)|(?<mark>[\s\S])/y

export type Source = {
  /** Relative to the project's folder. */
  readonly path: string
  readonly text: string
  /** Without comments. */
  readonly code: string
  /** Without comments, and without the content of quotes. */
  readonly bare: string
}

export function read(path: string, text: string): Source {
  let code = ''
  let bare = ''
  let at = 0
  let last = ''
  // One entry for each open brace. The brace of a template's `${` returns to the text of the template.
  const braces: boolean[] = []
  const take = (length: number, isCode: boolean, isText: boolean) => {
    const part = text.slice(at, at + length)
    code += isCode ? part : blank(part)
    bare += isText ? part.slice(0, 1) + blank(part.slice(1, -1)) + part.slice(1).slice(-1) : isCode ? part : blank(part)
    at += length
  }
  const template = () => {
    const start = at
    let end = at
    while (end < text.length && text[end] !== '`' && !text.startsWith('${', end)) end += text[end] === '\\' ? 2 : 1
    const part = text.slice(start, end)
    code += part
    bare += blank(part)
    const isOver = text[end] !== '$'
    const closing = text.slice(end, end + (isOver ? 1 : 2))
    code += closing
    bare += closing
    at = end + closing.length
    if (!isOver) braces.push(true)
  }
  while (at < text.length) {
    token.lastIndex = at
    const { 0: all, groups = {} } = token.exec(text) as RegExpExecArray
    const divides =
      groups.regex !== undefined && /[\w$)\]}'"`]$/.test(last) && !/^(?:return|typeof|case|of|in)$/.test(last)
    take(divides ? 1 : all.length, groups.comment === undefined, groups.text !== undefined)
    if (all === '`') template()
    if (all === '{') braces.push(false)
    if (all === '}' && braces.pop()) template()
    if (groups.comment === undefined && all.trim()) last = divides ? '/' : all
  }
  return { path, text, code, bare }
}

const blank = (text: string) => text.replace(/[^\n]/g, ' ')

/** Returns a regular expression that matches the text only. Node.js 20 has no `RegExp.escape`. */
export const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** The line, from 1, of a position in a text. */
export const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length

/** Returns the place of a match, in the first of the sources that has one. */
export type Place = { readonly file: string; readonly line: number; readonly match: RegExpExecArray }

/** @param kind `code` also searches inside quotes */
export function find(sources: readonly Source[], pattern: RegExp, kind: 'code' | 'bare' = 'bare'): Place | undefined {
  return findAll(sources, pattern, kind)[0]
}

export const findAll = (sources: readonly Source[], pattern: RegExp, kind: 'code' | 'bare' = 'bare'): Place[] =>
  sources.flatMap((source) =>
    [...source[kind].matchAll(new RegExp(pattern, `${pattern.flags.replace('g', '')}g`))].map((match) => ({
      file: source.path,
      line: lineAt(source.text, match.index),
      match: match as RegExpExecArray,
    })),
  )
