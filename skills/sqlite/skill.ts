import { defineSkill } from '../../kernel/skill.ts'
import { ask } from './database.ts'

const database = {
  type: 'string',
  description: 'The database file, within the folders that the skill files may look into: absolute, beginning with `~/`, or relative to the first of them (where Skillet runs, unless configured); without a colon',
  required: true, minLength: 1, maxLength: 4096, pattern: '^[^:]+$'
} as const
const table = {
  type: 'string',
  description: 'Name of the table or view; without quotes in it',
  required: true,
  minLength: 1,
  maxLength: 1000,
  pattern: '^[^\'"]+$'
} as const

export default defineSkill({
  tools: {
    tables: {
      description: 'List the tables and views of a SQLite database file',
      annotations: { read_only: true },
      parameters: { database },
      timeout_ms: 10_000,
      run: ({ database }, context) => ask(database, {
        sql: "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
        values: [], format: 'rows'
      }, context)
    },

    schema: {
      description: 'Show the schema of a SQLite database: the CREATE statements of its tables, indexes, views and triggers',
      annotations: { read_only: true },
      parameters: { database },
      timeout_ms: 10_000,
      run: ({ database }, context) => ask(database, {
        sql: "SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY tbl_name, type DESC, name",
        values: [], format: 'lines'
      }, context)
    },

    columns: {
      description: 'List the columns of a table or view in a SQLite database: name, type, whether it may be null, default, primary key',
      annotations: { read_only: true },
      parameters: { database, table },
      timeout_ms: 10_000,
      run: ({ database, table }, context) => ask(database, {
        sql: 'SELECT name, type, "notnull" AS not_null, dflt_value AS default_value, pk AS primary_key FROM pragma_table_info(?)',
        values: [table], format: 'rows'
      }, context)
    },

    sample: {
      description: 'Show the first rows of a table or view in a SQLite database, as JSON',
      annotations: { read_only: true },
      parameters: {
        database,
        table,
        count: { type: 'integer', description: 'How many rows', default: 10, minimum: 1, maximum: 1000 }
      },
      timeout_ms: 10_000,
      run: ({ database, table, count }, context) =>
        ask(database, { sql: `SELECT * FROM "${table}" LIMIT ?`, values: [count], format: 'rows' }, context)
    },

    query: {
      description: 'Run a read-only SQL query (SELECT) on a SQLite database file and give the rows as JSON',
      annotations: { read_only: true },
      parameters: {
        database,
        sql: {
          type: 'string',
          description: 'The query, one statement; it begins with a word such as SELECT, WITH, VALUES or EXPLAIN. Use LIMIT on large tables',
          required: true, minLength: 1, maxLength: 20_000, pattern: '^[A-Za-z][^\\x00]*$'
        }
      },
      timeout_ms: 30_000,
      run: ({ database, sql }, context) => ask(database, { sql, values: [], format: 'rows' }, context)
    }
  }
})
