/** What a query may use. Whatever is not named here is refused: a later SQLite may bring more. */

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Functions that compute by their arguments, the time, chance and the database alone. */
export const functions = words(`
  -> ->> abs acos acosh asin asinh atan atan2 atanh avg bm25 ceil ceiling changes char coalesce concat concat_ws cos
  cosh count cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp first_value
  floor format fts5 fts5_get_locale fts5_insttoken fts5_locale fts5_source_id geopoly_area geopoly_bbox geopoly_blob
  geopoly_ccw geopoly_contains_point geopoly_debug geopoly_group_bbox geopoly_json geopoly_overlap geopoly_regular
  geopoly_svg geopoly_within geopoly_xform glob group_concat hex highlight if ifnull iif instr json json_array
  json_array_insert json_array_length json_error_position json_extract json_group_array json_group_object json_insert
  json_object json_patch json_pretty json_quote json_remove json_replace json_set json_type json_valid jsonb
  jsonb_array jsonb_array_insert jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object
  jsonb_patch jsonb_remove jsonb_replace jsonb_set julianday lag last_insert_rowid last_value lead length like
  likelihood likely ln log log10 log2 lower ltrim match matchinfo max median min mod nth_value ntile nullif
  octet_length offsets percent_rank percentile percentile_cont percentile_disc pi pow power printf quote radians
  random randomblob rank replace round row_number rtreecheck rtreedepth rtreenode rtrim sign sin sinh snippet soundex
  sqlite_compileoption_get sqlite_compileoption_used sqlite_source_id sqlite_version sqrt strftime string_agg substr
  substring subtype sum tan tanh time timediff total total_changes trim trunc typeof unhex unicode unistr unistr_quote
  unixepoch unlikely upper zeroblob
`)

/** Virtual tables, which keep what they hold in the database, or tell of it. None of them reads files. */
export const modules = words('dbstat fts3 fts3tokenize fts4 fts4aux fts5 fts5vocab geopoly json_each json_tree rtree rtree_i32')

/** PRAGMAs that tell of the database. */
export const pragmas = words(`
  collation_list compile_options database_list foreign_key_check foreign_key_list function_list index_info index_list
  index_xinfo integrity_check module_list pragma_list quick_check table_info table_list table_xinfo
`)

/** PRAGMAs that tell of the database when they are given no value. */
export const pragmasWithoutValue = words(`
  application_id auto_vacuum data_version encoding freelist_count journal_mode page_count page_size schema_version
  user_version
`)
