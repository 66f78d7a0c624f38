/** Reads exported declarations for the API reference: their docstrings, signatures and members, as texts. */
import {
  type FunctionDeclaration,
  type IntersectionTypeNode,
  type Node,
  type ParameterDeclaration,
  type SourceFile,
  SyntaxKind,
  type TypeAliasDeclaration,
  type UnionTypeNode,
  type VariableDeclaration,
} from 'typescript/unstable/ast'
import {
  type Checker,
  type Symbol as Named,
  NodeBuilderFlags,
  type Project,
  SymbolFlags,
} from 'typescript/unstable/sync'

/** An export, or a type that exports refer to. */
export type Declared = {
  readonly name: string
  readonly symbol: Named
  readonly declaration: Node
  readonly project: Project
}

/** The comment at the beginning of a module, without the name of the entry point. */
export function descriptionOf(file: SourceFile): string {
  const [text = ''] = commentIn(file.text).split(/^@/m)
  const description = prose(text.trim()).replace(/^edgemcp\S*: /, '')
  return description.charAt(0).toUpperCase() + description.slice(1)
}

/** The text of the first docstring in a piece of source. */
function commentIn(source: string): string {
  const [, comment = ''] = /\/\*\*([\s\S]*?)\*\//.exec(source) ?? []
  return comment.replace(/^\s*\* ?/gm, '').trim()
}

/** The docstring without its tags. */
export const docOf = (symbol: Named, checker: Checker): string => prose(symbol.getDocumentationComment(checker).trim())

/** The tags of a docstring, as the items of a list. */
export const tagList = (tags: readonly Tag[]): string[] =>
  tags.length === 0 ? [] : [tags.map((tag) => `- ${tagText(tag)}`).join('\n')]

const tagTitles: Readonly<Record<string, string>> = { param: 'Parameter', returns: 'Returns', throws: 'Throws' }

export type Tag = { readonly name: string; readonly text: string }

function tagText({ name, text }: Tag): string {
  if (name === 'see') return `See <${text}>`
  const [first = '', ...others] = text.split(' ')
  return name === 'param' ? `Parameter \`${first}\`: ${prose(others.join(' '))}` : `${tagTitles[name]}: ${prose(text)}`
}

export const tagsOf = (symbol: Named, checker: Checker): Tag[] =>
  symbol
    .getJsDocTags(checker)
    .flatMap(({ name, text }) => (name === 'see' || name in tagTitles ? [{ name, text: text?.trim() ?? '' }] : []))

export const examplesOf = (symbol: Named, checker: Checker): string[] =>
  symbol.getJsDocTags(checker).flatMap(({ name, text }) => (name === 'example' ? [code(text?.trim() ?? '')] : []))

/** The signature of a declaration, or its definition. A function has the signatures of its overloads. */
export function signatureOf(declared: Declared): string {
  const { name, symbol, declaration, project } = declared
  switch (declaration.kind) {
    case SyntaxKind.FunctionDeclaration:
      return overloadsOf(symbol, project).map(functionText).join('\n')
    case SyntaxKind.VariableDeclaration: {
      const { initializer, type } = declaration as VariableDeclaration
      if (type) return `const ${name}: ${type.getText()}`
      if (initializer?.kind === SyntaxKind.ArrowFunction) return `const ${name} = ${functionText(initializer)}`
      const value = project.checker.getTypeOfSymbol(symbol)
      return `const ${name}: ${value ? project.checker.typeToString(value) : 'unknown'}`
    }
    case SyntaxKind.ClassDeclaration:
      return signatureHead(declaration)
        .replace(/^class \w+/, `class ${name}`)
        .replace(/ implements .*$/s, '')
    case SyntaxKind.InterfaceDeclaration:
      return signatureHead(declaration)
    default:
      return hasMembers(declaration) || variantsOf(declaration) ? headOf(declaration) : aliasText(declared)
  }
}

/** The declarations of a function or a method, without the implementation of overloads. */
export function overloadsOf(symbol: Named, project: Project): Node[] {
  const all = symbol.declarations.flatMap((each) => each.resolve(project) ?? [])
  const overloads = all.filter((each) => !(each as FunctionDeclaration).body)
  return overloads.length > 0 ? overloads : all
}

/**
 * A function without its body. Parameters with a default are optional, and destructured ones have a name.
 *
 * @throws Error for a function without a return type, which readers need
 */
function functionText(node: Node): string {
  const { body, parameters, type } = node as unknown as {
    body?: Node
    parameters: readonly ParameterDeclaration[]
    type?: Node
  }
  if (!type) {
    const { fileName } = node.getSourceFile()
    throw new Error(`A public function in ${fileName} needs a return type: ${node.getText().split('\n')[0]}`)
  }
  const start = node.getStart()
  let text = node.getText()
  if (body) text = text.slice(0, body.getStart() - start)
  for (const parameter of [...parameters].reverse()) {
    const [from, to] = [parameter.getStart() - start, parameter.end - start]
    text = text.slice(0, from) + parameterText(parameter) + text.slice(to)
  }
  return exported(withoutComments(text))
    .replace(/^(?:override |async )+/, '')
    .replace(/\s*=>\s*$/, '')
    .replace(/;?\s*$/, '')
}

function parameterText(parameter: ParameterDeclaration): string {
  const { name, type, initializer, questionToken, dotDotDotToken } = parameter
  if (!type) return parameter.getText()
  const isPattern = name.kind === SyntaxKind.ObjectBindingPattern
  const isOptional = initializer !== undefined || questionToken !== undefined
  const label = isPattern ? labelOf(type.getText()) : name.getText()
  return `${dotDotDotToken ? '...' : ''}${label}${isOptional ? '?' : ''}: ${type.getText()}`
}

/** The name of a destructured parameter: `options`, or that of its type. */
const labelOf = (type: string) =>
  /Options\b/.test(type) || !/^\w+$/.test(type) ? 'options' : type.charAt(0).toLowerCase() + type.slice(1)

/** Types that are computed from others are named, not repeated. Types that are computed from values are shown. */
export function aliasText({ declaration, symbol, project: { checker } }: Declared): string {
  if (declaration.kind === SyntaxKind.InterfaceDeclaration) return signatureHead(declaration)
  const { type } = declaration as TypeAliasDeclaration
  if (type.kind === SyntaxKind.ConditionalType || type.kind === SyntaxKind.MappedType) return headOf(declaration)
  const isOfValue = /\btypeof \w/.test(type.getText())
  const computed = checker.typeToString(
    checker.getDeclaredTypeOfSymbol(symbol),
    undefined,
    NodeBuilderFlags.NoTruncation,
  )
  const value = isOfValue ? computed.replaceAll('"', "'") : inline(type)
  return `${headOf(declaration)} = ${value}`
}

/** A type with its parameters, without its definition. */
export function headOf(declaration: Node): string {
  if (declaration.kind === SyntaxKind.InterfaceDeclaration) return signatureHead(declaration)
  const { name, typeParameters } = declaration as TypeAliasDeclaration
  const parameters = typeParameters?.map((each) => each.getText()).join(', ')
  return `type ${name.getText()}${parameters ? `<${parameters}>` : ''}`
}

const exported = (text: string) => text.replace(/^export (?:declare )?/, '')

const withoutComments = (text: string) =>
  text
    .replace(/\/\*\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/\n\s*\n/g, '\n')

/** A type on one line. Members on lines of their own have no semicolons in the source. */
const inline = (type: Node) =>
  withoutComments(type.getText())
    .replace(/([^{;,|&(<=>\s])\s*\n\s*(?=[\w'"[])/g, '$1; ')
    .replace(/\s+/g, ' ')
    .replace(/^\| /, '')
    .replace(/([(<]) (?:\| )?/g, '$1')
    .replace(/,? ([)>])(?!\w)/g, '$1')
    .replaceAll('=>', ' =>')
    .replace(/ +=>/g, ' =>')
    .trim()

/** Whether a declaration is a list of members only. */
export function isLiteral(declaration: Node): boolean {
  if (declaration.kind === SyntaxKind.VariableDeclaration) return objectOf(declaration) !== undefined
  if (declaration.kind === SyntaxKind.InterfaceDeclaration) return !/<|extends/.test(signatureHead(declaration))
  const { type, typeParameters } = declaration as TypeAliasDeclaration
  const kinds = [SyntaxKind.TypeLiteral, SyntaxKind.IntersectionType, SyntaxKind.UnionType]
  return declaration.kind === SyntaxKind.TypeAliasDeclaration && kinds.includes(type.kind) && !typeParameters?.length
}

const signatureHead = (declaration: Node) => exported(declaration.getText().split(/ \{(?:\n|\}$)/)[0] ?? '')

/** The constructor of a class that users create: one with a docstring of all its parameters. */
export function constructorOf({ name, declaration }: Declared): { signature: string; tags: Tag[] } | undefined {
  const { members = [] } = declaration as unknown as { members?: readonly Node[] }
  const found = members.find(({ kind }) => kind === SyntaxKind.Constructor)
  if (declaration.kind !== SyntaxKind.ClassDeclaration || !found) return undefined
  const { parameters } = found as unknown as { parameters: readonly ParameterDeclaration[] }
  const tags = commentIn(found.getFullText())
    .split(/^@/m)
    .flatMap((line) => {
      const [, tag = '', text = ''] = /^(\w+) ([\s\S]*)/.exec(line.trim()) ?? []
      return tag in tagTitles ? [{ name: tag, text: text.replace(/\s+/g, ' ') }] : []
    })
  if (tags.filter((tag) => tag.name === 'param').length < parameters.length || parameters.length === 0) return undefined
  return { signature: `new ${name}(${parameters.map(parameterText).join(', ')})`, tags }
}

/** Whether a type is a list of members, whose description takes a section. */
export function hasMembers(declaration: Node): boolean {
  if (declaration.kind === SyntaxKind.InterfaceDeclaration) {
    const kinds = [SyntaxKind.PropertySignature, SyntaxKind.MethodSignature]
    const { members } = declaration as unknown as { members: readonly Node[] }
    return members.some(({ kind }) => kinds.includes(kind))
  }
  const { type } = declaration as TypeAliasDeclaration
  if (type?.kind === SyntaxKind.IntersectionType) {
    return [...(type as IntersectionTypeNode).types].some(({ kind }) => kind === SyntaxKind.TypeLiteral)
  }
  return type?.kind === SyntaxKind.TypeLiteral
}

/** One of the types of a union. */
export type Variant = { readonly type: string; readonly text: string }

/** The types of a union, or of the union in an intersection, if the source describes them; otherwise `undefined`. */
export function variantsOf(declaration: Node): Variant[] | undefined {
  if (declaration.kind !== SyntaxKind.TypeAliasDeclaration) return undefined
  const union = unionOf((declaration as TypeAliasDeclaration).type)
  const source = union?.getFullText() ?? ''
  if (!union || !source.includes('/**')) return undefined
  let end = union.pos
  return [...(union as UnionTypeNode).types].map((type) => {
    const comment = commentIn(source.slice(end - union.pos, type.getStart() - union.pos))
    end = type.end
    const { members = [] } = type as unknown as { members?: readonly (Node & { readonly name?: Node })[] }
    const texts = members.flatMap((member) => {
      const text = commentIn(member.getFullText())
      return text && member.name ? [`\`${member.name.getText()}\`: ${text}`] : []
    })
    return { type: inline(type), text: sentences([comment, ...texts]) }
  })
}

function unionOf(type: Node): Node | undefined {
  if (type.kind === SyntaxKind.UnionType) return type
  if (type.kind === SyntaxKind.ParenthesizedType) return unionOf((type as unknown as { type: Node }).type)
  if (type.kind !== SyntaxKind.IntersectionType) return undefined
  const found = [...(type as IntersectionTypeNode).types].find(({ kind }) => kind === SyntaxKind.ParenthesizedType)
  return found && unionOf(found)
}

/** The source of the object that a constant holds. */
export function objectOf(declaration: Node): Node | undefined {
  let { initializer: value } = declaration as VariableDeclaration as { initializer?: Node }
  if (declaration.kind !== SyntaxKind.VariableDeclaration || (declaration as VariableDeclaration).type) return undefined
  while (value?.kind === SyntaxKind.AsExpression || value?.kind === SyntaxKind.SatisfiesExpression) {
    value = (value as unknown as { expression: Node }).expression
  }
  return value?.kind === SyntaxKind.ObjectLiteralExpression ? value : undefined
}

export type Member = {
  readonly name: string
  readonly node: Node
  readonly symbol: Named
  readonly isMethod: boolean
  /** The type of a property. For a method, its parameters and result. */
  readonly type: string
  /** The docstring with its tags, on one line. */
  readonly text: string
}

const methods: ReadonlySet<SyntaxKind> = new Set([SyntaxKind.MethodSignature, SyntaxKind.MethodDeclaration])

/** The members of a declaration. @param isOwn whether a member is described here, and not with the type that declares it */
export function membersOf({ symbol, declaration, project }: Declared, isOwn: (member: Node) => boolean): Member[] {
  const { checker } = project
  // The platform and this library call the methods of the class.
  if (declaration.kind === SyntaxKind.ClassDeclaration && / extends DurableObject\b/.test(signatureHead(declaration)))
    return []
  const isType = symbol.flags & (SymbolFlags.Interface | SymbolFlags.TypeAlias | SymbolFlags.Class)
  if (!isType && !objectOf(declaration)) return []
  const type = isType ? checker.getDeclaredTypeOfSymbol(symbol) : checker.getTypeOfSymbol(symbol)
  const properties = type ? checker.getPropertiesOfType(type) : []
  return properties.flatMap((member) => {
    const node = member.declarations[0]?.resolve(project)
    if (!node || member.name.includes('#') || isOfPlatform(node) || !isOwn(node)) return []
    const { questionToken, postfixToken } = node as unknown as { questionToken?: Node; postfixToken?: Node }
    const isOptional = (questionToken ?? postfixToken)?.kind === SyntaxKind.QuestionToken
    return [
      {
        // The compiler names symbols with a number that changes.
        name: `${member.name.replace(/^__@(\w+)@\d+$/, '[Symbol.$1]')}${isOptional ? '?' : ''}`,
        node,
        symbol: member,
        isMethod: methods.has(node.kind),
        type: typeOf(node),
        text: memberText(member, checker),
      },
    ]
  })
}

/** The signatures of a method, as a separate block. */
export const methodText = (method: Named, project: Project): string =>
  overloadsOf(method, project)
    .map((node) => functionText(node).replace(/^ {2}/gm, ''))
    .join('\n')

export const isOfPlatform = (node: Node) => /node_modules|\/lib\.[\w.]+\.d\.ts$/.test(node.getSourceFile().fileName)

const memberText = (member: Named, checker: Checker): string =>
  sentences([prose(member.getDocumentationComment(checker)), ...tagsOf(member, checker).map(tagText)])

/** Texts as sentences on one line. */
const sentences = (texts: readonly string[]): string =>
  texts
    .map((text) => text.trim().replace(/([^.!?:>])$/, '$1.'))
    .filter(Boolean)
    .join(' ')
    .replace(/\s+/g, ' ')

/** The type of a member as written. For a method, its parameters and result. */
function typeOf(node: Node): string {
  if (methods.has(node.kind)) {
    const text = functionText(node).replace(/^\w+\??/, '')
    return text.replace(/\s+/g, ' ').replace(/\( /g, '(').replace(/, \)/g, ')')
  }
  const { type, initializer } = node as unknown as { type?: Node; initializer?: Node }
  return type ? inline(type) : (initializer?.getText().replace(/\s+/g, ' ') ?? '')
}

export const code = (text: string) => ['```typescript', text, '```'].join('\n')

/** Docstrings are wrapped by width; paragraphs and lists are kept. Text outside of code must not look like HTML. */
export const prose = (text: string) =>
  text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s*\n\s*(?!- )/g, ' '))
    .join('\n\n')
    .replace(/`[^`]*`|<(?=[a-zA-Z/])/g, (found) => (found === '<' ? '&lt;' : found))
