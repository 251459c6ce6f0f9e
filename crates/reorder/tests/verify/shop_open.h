/* Opens the connection of shop.h; for the test programs of golden cases. */
struct db;
#ifdef __cplusplus
extern "C"
#endif
struct db *shop_open(void *connection);
