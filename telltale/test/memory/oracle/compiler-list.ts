import ts from 'typescript';

/** A declaration as both sides name it. */
export interface Declaration {
  readonly name: string;
  readonly kind: string;
  /** Of its name, from 1 on. */
  readonly line: number;
}

export interface CompilerList {
  readonly declarations: readonly Declaration[];
  /** Specifiers of imports, each once. */
  readonly imports: readonly string[];
}

/**
 * What the TypeScript compiler's own tree says a file declares and imports. It knows nothing of our reading.
 *
 * These count: functions, classes, methods (constructors, accessors), interfaces, types, enums, namespaces, wherever
 * they stand; fields of classes (with parameters that are properties), members of interfaces, of types that are an
 * object, and of enums; variables of a module or a namespace, those of a pattern each; what `export default` exports
 * without a name. A variable or field that holds a function is a function or method, one that holds a class is a class.
 * A class that is a value counts where it or its variable has a name.
 *
 * These do not: local variables, parameters, type parameters, members of object literals and of nested object types,
 * index, call and construct signatures, members of classes without a name. Overloads count once.
 */
export function listByCompiler(path: string, text: string): CompilerList {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: (Declaration & { readonly scope: ts.Node; readonly overload?: string })[] = [];
  const imports = new Set<string>();
  const lineOf = (node: ts.Node) => file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;

  const add = (name: ts.Node, kind: string, scope: ts.Node, overload?: string) => {
    if (name.getWidth(file) === 0) return; // The compiler puts it where one is missing.
    found.push({ name: written(name), kind, line: lineOf(name), scope, ...(overload ? { overload } : {}) });
  };
  const written = (name: ts.Node): string =>
    ts.isStringLiteralLike(name) ? name.getText(file).slice(1, -1) : name.getText(file).replace(/\s+/g, ' ');
  const unnamed = (node: ts.Node, kind: string) =>
    found.push({ name: 'default', kind, line: lineOf(node), scope: node.parent });

  /** Says of a callable without a body which others it goes with. */
  const overloadOf = (node: ts.SignatureDeclaration & { readonly body?: ts.Node | undefined }): string => {
    const parts = [ts.isGetAccessor(node) ? 'get' : ts.isSetAccessor(node) ? 'set' : ''];
    const isStatic =
      ts.canHaveModifiers(node) &&
      (ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) ?? false);
    return [...parts, isStatic ? 'static' : '', node.body === undefined ? 'open' : 'closed'].join(':');
  };

  const isModuleLevel = (node: ts.VariableDeclaration): boolean => {
    const statement = node.parent.parent;
    return (
      ts.isVariableStatement(statement) &&
      (ts.isSourceFile(statement.parent) || ts.isModuleBlock(statement.parent))
    );
  };

  const names = (name: ts.BindingName): readonly ts.Identifier[] =>
    ts.isIdentifier(name)
      ? [name]
      : name.elements.flatMap((element) => (ts.isBindingElement(element) ? names(element.name) : []));

  /** Whether members of this class belong to something that has a name. */
  const isNamedClass = (node: ts.ClassLikeDeclaration): boolean =>
    node.name !== undefined ||
    ts.isClassDeclaration(node) ||
    (ts.isVariableDeclaration(node.parent) && isModuleLevel(node.parent)) ||
    (ts.isPropertyDeclaration(node.parent) && isNamedClass(node.parent.parent)) ||
    ts.isExportAssignment(node.parent);

  const holds = (value: ts.Expression | undefined): 'function' | 'class' | undefined =>
    value === undefined
      ? undefined
      : ts.isArrowFunction(value) || ts.isFunctionExpression(value)
        ? 'function'
        : ts.isClassExpression(value)
          ? 'class'
          : undefined;

  const counts = (member: ts.ClassElement | ts.TypeElement): boolean => {
    const { parent } = member;
    if (ts.isInterfaceDeclaration(parent)) return true;
    if (ts.isTypeLiteralNode(parent)) return ts.isTypeAliasDeclaration(parent.parent);
    return ts.isClassLike(parent) && isNamedClass(parent);
  };

  const visit = (node: ts.Node): void => {
    if (ts.isFunctionDeclaration(node)) {
      if (node.name) add(node.name, 'function', node.parent, overloadOf(node));
      else unnamed(node, 'function');
    } else if (ts.isClassDeclaration(node)) {
      if (node.name) add(node.name, 'class', node.parent);
      else unnamed(node, 'class');
    } else if (ts.isClassExpression(node)) {
      const isHeld =
        (ts.isVariableDeclaration(node.parent) && isModuleLevel(node.parent)) ||
        (ts.isPropertyDeclaration(node.parent) && isNamedClass(node.parent.parent));
      if (node.name && !isHeld) add(node.name, 'class', node.parent);
    } else if (ts.isInterfaceDeclaration(node)) add(node.name, 'interface', node.parent);
    else if (ts.isTypeAliasDeclaration(node)) add(node.name, 'type', node.parent);
    else if (ts.isEnumDeclaration(node)) add(node.name, 'enum', node.parent);
    else if (ts.isEnumMember(node)) add(node.name, 'field', node.parent);
    else if (ts.isModuleDeclaration(node)) {
      // `namespace A.B` is one symbol, though the compiler has a namespace within a namespace.
      if (!ts.isModuleDeclaration(node.parent)) {
        const dotted: string[] = [];
        let last: ts.Node | undefined = node;
        for (; last && ts.isModuleDeclaration(last); last = last.body) dotted.push(written(last.name));
        const isGlobal = (node.flags & ts.NodeFlags.GlobalAugmentation) !== 0;
        const line = lineOf(isGlobal ? node : node.name);
        found.push({ name: dotted.join('.'), kind: 'module', line, scope: node.parent });
      }
    } else if (ts.isConstructorDeclaration(node)) {
      if (counts(node)) {
        const line = lineOf(node);
        found.push({
          name: 'constructor',
          kind: 'method',
          line,
          scope: node.parent,
          overload: overloadOf(node),
        });
        for (const parameter of node.parameters)
          if (ts.isParameterPropertyDeclaration(parameter, node)) add(parameter.name, 'field', node.parent);
      }
    } else if (
      ts.isMethodDeclaration(node) ||
      ts.isMethodSignature(node) ||
      ts.isGetAccessor(node) ||
      ts.isSetAccessor(node)
    ) {
      const isLiteral = ts.isObjectLiteralExpression(node.parent);
      if (!isLiteral && counts(node as ts.ClassElement))
        add(node.name, 'method', node.parent, overloadOf(node));
    } else if (ts.isPropertyDeclaration(node)) {
      const held = holds(node.initializer);
      if (counts(node)) add(node.name, held === 'function' ? 'method' : 'field', node.parent);
    } else if (ts.isPropertySignature(node)) {
      if (counts(node)) add(node.name, 'field', node.parent);
    } else if (ts.isVariableDeclaration(node) && ts.isVariableDeclarationList(node.parent)) {
      const held = ts.isIdentifier(node.name) ? holds(node.initializer) : undefined;
      if (isModuleLevel(node))
        for (const name of names(node.name)) add(name, held ?? 'variable', node.parent);
    } else if (ts.isExportAssignment(node) && !node.isExportEquals && !ts.isIdentifier(node.expression)) {
      const held = holds(node.expression);
      const own = held && (node.expression as ts.FunctionExpression | ts.ClassExpression).name;
      if (!own) unnamed(node, held ?? 'variable');
    }
    noteImport(node);
    ts.forEachChild(node, visit);
  };

  const noteImport = (node: ts.Node): void => {
    const specifier = specifierOf(node);
    if (specifier && ts.isStringLiteralLike(specifier)) imports.add(specifier.text);
  };

  visit(file);
  return { declarations: onceEach(found), imports: [...imports] };
}

/** Imports and exports with a source, `import x = require()`, `import()`, `require()`, types that are imported. */
function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isExternalModuleReference(node)) return node.expression;
  if (ts.isImportTypeNode(node))
    return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined;
  if (!ts.isCallExpression(node)) return undefined;
  const { expression } = node;
  const isRequire = ts.isIdentifier(expression) && expression.text === 'require';
  return isRequire || expression.kind === ts.SyntaxKind.ImportKeyword ? node.arguments[0] : undefined;
}

/** A callable is the same as the one of its name before it, in the same place, that has no body. */
function onceEach(
  found: readonly (Declaration & { readonly scope: ts.Node; readonly overload?: string })[],
): readonly Declaration[] {
  const open = new Map<ts.Node, Set<string>>();
  return found
    .filter(({ name, scope, overload }) => {
      if (overload === undefined) return true;
      const [accessor, isStatic, state] = overload.split(':');
      const key = `${accessor} ${isStatic} ${name}`;
      const here = open.get(scope) ?? new Set();
      open.set(scope, here);
      const isKnown = here.has(key);
      if (state === 'open') here.add(key);
      else here.delete(key);
      return !isKnown;
    })
    .map(({ name, kind, line }) => ({ name, kind, line }));
}
